-- An address book per user. A client knows by `life` that it is still the same one, and by `revision` what is new in it.
CREATE TABLE books (
    owner text PRIMARY KEY,
    life uuid NOT NULL DEFAULT gen_random_uuid(),
    revision bigint NOT NULL DEFAULT 0
);

-- The contacts. One that was deleted keeps its row, without a vCard: clients that come later have to hear of it.
CREATE TABLE contacts (
    owner text NOT NULL REFERENCES books,
    name text NOT NULL,
    uid text NOT NULL,
    etag text NOT NULL,
    revision bigint NOT NULL,
    changed timestamptz NOT NULL,
    vcard text,
    PRIMARY KEY (owner, name)
);

-- Two contacts of a book are two persons.
CREATE UNIQUE INDEX contacts_uid ON contacts (owner, uid) WHERE vcard IS NOT NULL;

-- For the question what has changed since a revision.
CREATE INDEX contacts_revision ON contacts (owner, revision);
