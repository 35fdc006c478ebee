-- The table of the course. Its primary key comes with the next migration, so that a bulk load between the two need not
-- keep an index up to date row by row.
CREATE TABLE records (
    id int NOT NULL,
    value text NOT NULL,
    odd boolean NOT NULL,
    divisible_by_3 boolean NOT NULL,
    visited boolean NOT NULL DEFAULT false
);
