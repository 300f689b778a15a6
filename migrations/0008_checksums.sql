-- Checksums, and the range of versions that may use this database.

-- SHA-256 of the entry and of the checksum before it, in hexadecimal. NULL for entries of versions without checksums.
ALTER TABLE journal ADD COLUMN checksum TEXT;

-- The checksum of the debate's last entry; before the first entry, of what the debate was created with. '' for debates of
-- versions without checksums.
ALTER TABLE debates ADD COLUMN chain TEXT NOT NULL DEFAULT '';

-- The oldest schema version whose builds can use this database. A migration that older builds cannot work with raises it.
CREATE TABLE compatibility (
    oldest BIGINT NOT NULL PRIMARY KEY
);

INSERT INTO compatibility (oldest) VALUES (8);
