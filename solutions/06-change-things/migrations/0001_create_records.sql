-- The records, as in the course's data sets. If a data set is there already, this changes nothing.
CREATE TABLE IF NOT EXISTS records (
    id int PRIMARY KEY,
    value text NOT NULL,
    odd boolean NOT NULL,
    divisible_by_3 boolean NOT NULL,
    visited boolean NOT NULL DEFAULT false
);
