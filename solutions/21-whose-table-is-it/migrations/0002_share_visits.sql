-- What two services need to share visits while one takes them over from the other. The same in both databases, but for the first
-- owner. Where it has run before, it changes nothing, and takes no lock on records.

-- One row: who has this database, and who writes visits. `none` is nobody, for the moment of a switch. Each switch raises the epoch.
-- Visits that are not shared belong to one service alone, and are not noted.
CREATE TABLE IF NOT EXISTS visits_ownership (
    me text PRIMARY KEY,
    owner text NOT NULL,
    epoch bigint NOT NULL,
    shared boolean NOT NULL
);
INSERT INTO visits_ownership SELECT 'rust', 'rust', 0, false WHERE NOT EXISTS (SELECT FROM visits_ownership);

CREATE OR REPLACE FUNCTION visits_epoch() RETURNS bigint LANGUAGE sql STABLE AS 'SELECT epoch FROM visits_ownership';

-- What the other service has not been told yet. It deletes what it has done, and writes a reason where it can't do it.
CREATE TABLE IF NOT EXISTS visits_outbox (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    epoch bigint NOT NULL DEFAULT visits_epoch(),
    id int NOT NULL,
    visited boolean NOT NULL,
    noted_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    reason text
);

-- The newest that the other service has said of a record.
CREATE TABLE IF NOT EXISTS visits_applied (
    id int PRIMARY KEY REFERENCES records,
    epoch bigint NOT NULL,
    seq bigint NOT NULL
);

-- Wakes the service that listens, once the transaction is committed.
CREATE OR REPLACE FUNCTION visits_wake() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NOTIFY visits;
    RETURN NULL;
END $$;

-- The fence. The owner writes, and nobody else does; a session that follows (`visits.follows`) writes only where it isn't the owner.
-- FOR SHARE: a switch waits for the transactions that were let through, and a transaction that comes during a switch waits for it.
-- ANCHOR: fence
CREATE OR REPLACE FUNCTION visits_fence() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    mine boolean;
BEGIN
    SELECT owner = me INTO mine FROM visits_ownership FOR SHARE;
    IF mine = (coalesce(current_setting('visits.follows', true), '') = 'on') THEN
        RAISE 'visits are written by another service' USING ERRCODE = 'read_only_sql_transaction';
    END IF;
    RETURN NULL;
END $$;
-- ANCHOR_END: fence

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_trigger WHERE tgname = 'visits_fence' AND tgrelid = 'records'::regclass) THEN
        CREATE TRIGGER visits_fence BEFORE UPDATE OF visited ON records FOR EACH STATEMENT EXECUTE FUNCTION visits_fence();
    END IF;
    IF NOT EXISTS (SELECT FROM pg_trigger WHERE tgname = 'visits_wake' AND tgrelid = 'visits_outbox'::regclass) THEN
        CREATE TRIGGER visits_wake AFTER INSERT ON visits_outbox FOR EACH STATEMENT EXECUTE FUNCTION visits_wake();
    END IF;
END $$;
