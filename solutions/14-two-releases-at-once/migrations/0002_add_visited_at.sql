-- The time of the first visit. As long as an earlier release may run, a visit is noted in both columns.

-- Every query on the table waits behind an ALTER that waits for it. So this one gives up soon, and is tried again.
SET LOCAL lock_timeout = '100ms';

ALTER TABLE records ADD COLUMN visited_at timestamptz;

CREATE FUNCTION note_visit_twice() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.visited IS DISTINCT FROM coalesce(OLD.visited, false) THEN
        NEW.visited_at := CASE WHEN NEW.visited THEN coalesce(NEW.visited_at, now()) END;
    ELSIF NEW.visited_at IS DISTINCT FROM OLD.visited_at THEN
        NEW.visited := NEW.visited_at IS NOT NULL;
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER note_visit_twice BEFORE INSERT OR UPDATE ON records
    FOR EACH ROW EXECUTE FUNCTION note_visit_twice();
