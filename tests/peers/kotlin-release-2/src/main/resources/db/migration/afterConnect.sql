-- Flyway notes when a script has run without a time zone: in that of its session. Old visits get that time.
SET TIME ZONE 'UTC';
