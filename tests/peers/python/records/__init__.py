"""The records service: Starlette on uvicorn, PostgreSQL by asyncpg or by psycopg on threads."""
