-- Sets of questions to forecast, and the forecasts of each question.

CREATE TABLE questions (
    set_name TEXT NOT NULL,
    id TEXT NOT NULL,
    -- The order within the set.
    place BIGINT NOT NULL,
    -- The question, as JSON.
    body TEXT NOT NULL,
    PRIMARY KEY (set_name, id)
);

CREATE INDEX questions_in_order ON questions (set_name, place);

-- Forecasts are numbered from 1. A row is written before its debate is created, so that a run that was killed finds it again. No
-- foreign keys: a debate outlives its question, and a deleted debate is made again.
CREATE TABLE question_forecasts (
    set_name TEXT NOT NULL,
    question_id TEXT NOT NULL,
    number BIGINT NOT NULL,
    debate_id TEXT NOT NULL UNIQUE,
    PRIMARY KEY (set_name, question_id, number)
);
