"""A part of the address book: Starlette on uvicorn, PostgreSQL by asyncpg."""
