-- What was found when both services were asked for the same record, per day.
CREATE TABLE visits_compared (
    day date PRIMARY KEY,
    same bigint NOT NULL,
    moving bigint NOT NULL,
    late bigint NOT NULL,
    different bigint NOT NULL,
    failed bigint NOT NULL,
    dropped bigint NOT NULL
);
