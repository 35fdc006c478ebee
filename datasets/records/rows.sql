-- The rows from id $1 to id $2: everything follows from the id, so two machines make the same rows.
INSERT INTO records (id, value, odd, divisible_by_3)
SELECT id, md5(id::text), id % 2 = 1, id % 3 = 0
FROM generate_series($1::int, $2::int) AS id
