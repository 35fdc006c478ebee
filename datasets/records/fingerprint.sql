-- One line that changes when a row is missing, doubled, moved or altered; the order of the rows does not matter.
-- Each row counts with a 64-bit hash of its whole value, seeded with its id and its flags. PostgreSQL places rows in hash
-- partitions by this function, so it does not change between versions; it needs a little-endian processor, as ARM and
-- x86 are.
SELECT concat_ws(
    ':',
    count(*),
    coalesce(min(id), 0),
    coalesce(max(id), 0),
    to_hex(bit_xor(hashtextextended(
        value,
        id::bigint * 8 + odd::int * 4 + divisible_by_3::int * 2 + visited::int
    )))
)
FROM records
