-- The address books, one per user. A sync token names the life of a book and one of its revisions.
CREATE TABLE IF NOT EXISTS books (
    owner text PRIMARY KEY,
    life uuid NOT NULL DEFAULT gen_random_uuid(),
    revision bigint NOT NULL DEFAULT 0
);

-- The contacts, and the tombstones of those that were removed: they have no vCard.
CREATE TABLE IF NOT EXISTS contacts (
    owner text NOT NULL REFERENCES books,
    name text NOT NULL,
    uid text NOT NULL,
    etag text NOT NULL,
    revision bigint NOT NULL,
    changed timestamptz NOT NULL,
    vcard text,
    PRIMARY KEY (owner, name)
);

CREATE UNIQUE INDEX IF NOT EXISTS contacts_uid ON contacts (owner, uid) WHERE vcard IS NOT NULL;

CREATE INDEX IF NOT EXISTS contacts_revision ON contacts (owner, revision);
