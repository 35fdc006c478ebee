-- What wardens write about a record. Each record counts its notes, so that their number can be limited.
ALTER TABLE records
    ADD COLUMN notes int NOT NULL DEFAULT 0;

CREATE TABLE notes (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    record int NOT NULL REFERENCES records (id),
    text text NOT NULL
);

CREATE INDEX notes_of_a_record ON notes (record, id);
