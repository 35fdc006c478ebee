-- An address book per user. `life` tells a client that it is still the same one, `revision` what is new in it.
CREATE TABLE books (
    owner text PRIMARY KEY,
    life uuid NOT NULL DEFAULT gen_random_uuid(),
    revision bigint NOT NULL DEFAULT 0
);

-- The contacts. One that was deleted keeps its row, without a vCard: clients that sync later have to learn of it.
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

-- A UID occurs only once in a book.
CREATE UNIQUE INDEX contacts_uid ON contacts (owner, uid) WHERE vcard IS NOT NULL;

-- For finding the changes since a revision.
CREATE INDEX contacts_revision ON contacts (owner, revision);
