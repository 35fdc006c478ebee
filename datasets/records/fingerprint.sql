-- One line that changes when a row is missing, doubled, moved or altered; the order of the rows does not matter.
-- Each row gives two numbers: the first 32 bits of its value times a number made of its id and its flags (at most
-- 32 + 27 bits, so it cannot overflow), and the last 64 bits of its value.
SELECT concat_ws(
    ':',
    count(*),
    coalesce(min(id), 0),
    coalesce(max(id), 0),
    sum(length(value)),
    to_hex(bit_xor(
        ('x' || left(value, 8))::bit(32)::bigint
        * (id::bigint * 8 + odd::int * 4 + divisible_by_3::int * 2 + visited::int)
    )),
    to_hex(bit_xor(('x' || right(value, 16))::bit(64)::bigint))
)
FROM records
