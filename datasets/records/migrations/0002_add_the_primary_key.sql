-- The one way a record is found: by its id.
ALTER TABLE records ADD PRIMARY KEY (id);
