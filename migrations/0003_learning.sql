-- What was learned from decisions whose outcome is known: an append-only list of what was learned, taken back, imported and
-- reset. What is known of a domain is a fold over it. It does not hang on `debates`: a lesson outlives its debate.
CREATE TABLE learning (
    number BIGINT NOT NULL PRIMARY KEY,
    at BIGINT NOT NULL,
    domain TEXT NOT NULL,
    kind TEXT NOT NULL,
    body TEXT NOT NULL
);
