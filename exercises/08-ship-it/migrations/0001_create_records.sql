-- The records, as the course's data sets have them. Where a data set is there already, nothing is to be done.
CREATE TABLE IF NOT EXISTS records (
    id int PRIMARY KEY,
    value text NOT NULL,
    odd boolean NOT NULL,
    divisible_by_3 boolean NOT NULL,
    visited boolean NOT NULL DEFAULT false
);
