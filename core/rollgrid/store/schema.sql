-- The log of rollgrid. Three kinds of table:
--   primary    event, body, task_body, command: the truth, appended and never changed
--   derived    run, task, attempt, review, scoring, rescored (and command.accepted/answer): the fold of the events, can
--              be rebuilt from them
--   of now     lease: which runner holds a run; live: how far a running attempt has got

CREATE TABLE event (
  seq     INTEGER PRIMARY KEY AUTOINCREMENT,
  run_id  TEXT NOT NULL,
  at      REAL NOT NULL,
  kind    TEXT NOT NULL,
  task    INTEGER,
  attempt INTEGER,
  take    INTEGER,
  data    TEXT NOT NULL
);
CREATE INDEX event_of_attempt ON event (run_id, task, attempt, seq);

-- The body that was appended with an event.
CREATE TABLE body (
  seq  INTEGER PRIMARY KEY,
  data BLOB NOT NULL
);

-- Input and expected value of each task of the run_created event with this seq.
CREATE TABLE task_body (
  seq  INTEGER NOT NULL,
  task INTEGER NOT NULL,
  data BLOB NOT NULL,
  PRIMARY KEY (seq, task)
) WITHOUT ROWID;

CREATE TABLE command (
  command_id INTEGER PRIMARY KEY AUTOINCREMENT,
  run_id     TEXT NOT NULL,
  at         REAL NOT NULL,
  author     TEXT NOT NULL,
  command    TEXT NOT NULL,
  args       TEXT NOT NULL,
  accepted   INTEGER,
  answer     TEXT
);
CREATE INDEX command_of_run ON command (run_id, command_id);

CREATE TABLE lease (
  run_id       TEXT PRIMARY KEY,
  token        TEXT NOT NULL,
  pid          INTEGER NOT NULL,
  host         TEXT NOT NULL,
  boot_id      TEXT NOT NULL,
  pid_space    TEXT NOT NULL,
  start_time   TEXT NOT NULL,
  acquired_at  REAL NOT NULL,
  heartbeat_at REAL NOT NULL
) WITHOUT ROWID;

CREATE TABLE run (
  run_id             TEXT PRIMARY KEY,
  env_name           TEXT NOT NULL,
  env_fingerprint    TEXT,
  policy_fingerprint TEXT,
  fingerprint_parts  TEXT NOT NULL,
  k                  INTEGER NOT NULL,
  n_tasks            INTEGER NOT NULL,
  n_planned          INTEGER NOT NULL,
  plan_seq           INTEGER NOT NULL,
  model              TEXT NOT NULL,
  model_kind         TEXT NOT NULL,
  timeout_seconds    REAL NOT NULL,
  source             TEXT NOT NULL,
  author             TEXT NOT NULL,
  host               TEXT NOT NULL,
  state              TEXT NOT NULL,
  stopped_early      TEXT,
  reason             TEXT,
  created_at         REAL NOT NULL,
  started_at         REAL,
  ended_at           REAL,
  active_seconds     REAL NOT NULL,
  session            INTEGER NOT NULL,
  concurrency        INTEGER NOT NULL,
  storm              TEXT,
  n_started          INTEGER NOT NULL,
  n_ended            INTEGER NOT NULL,
  n_scored           INTEGER NOT NULL,
  n_passed           INTEGER NOT NULL,
  n_errors           INTEGER NOT NULL,
  n_superseded       INTEGER NOT NULL,
  n_retries          INTEGER NOT NULL,
  input_tokens       INTEGER NOT NULL,
  output_tokens      INTEGER NOT NULL,
  cost               REAL,
  pid                INTEGER,
  seq                INTEGER NOT NULL,
  created_seq        INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX run_by_age ON run (created_seq);

CREATE TABLE task (
  run_id   TEXT NOT NULL,
  task     INTEGER NOT NULL,
  id       TEXT NOT NULL,
  metadata TEXT NOT NULL,
  k        INTEGER NOT NULL,
  settled  TEXT,
  PRIMARY KEY (run_id, task)
) WITHOUT ROWID;

CREATE TABLE attempt (
  run_id           TEXT NOT NULL,
  task             INTEGER NOT NULL,
  attempt          INTEGER NOT NULL,
  take             INTEGER NOT NULL,
  phase            TEXT NOT NULL,
  detail           TEXT,
  stop_reason      TEXT,
  passed           INTEGER,
  value            REAL,
  reason           TEXT,
  error            TEXT,
  error_type       TEXT,
  error_signature  TEXT,
  status           INTEGER,
  started_at       REAL NOT NULL,
  ended_at         REAL,
  duration_seconds REAL,
  retry_at         REAL,
  input_tokens     INTEGER NOT NULL,
  output_tokens    INTEGER NOT NULL,
  cost             REAL,
  retries          INTEGER NOT NULL,
  n_tools          INTEGER NOT NULL,
  superseded       TEXT,
  seq              INTEGER NOT NULL,
  ended_seq        INTEGER,
  PRIMARY KEY (run_id, task, attempt, take)
) WITHOUT ROWID;
CREATE INDEX attempt_by_change ON attempt (run_id, seq);

-- A row a review, `seq` being its event. `touched` is the last event that changed the row, `undone` the one that took the
-- review back.
CREATE TABLE review (
  seq     INTEGER PRIMARY KEY,
  run_id  TEXT NOT NULL,
  task    INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  take    INTEGER NOT NULL,
  at      REAL NOT NULL,
  author  TEXT NOT NULL,
  verdict TEXT,
  passed  INTEGER,
  label   TEXT,
  note    TEXT,
  blind   INTEGER NOT NULL,
  undone  INTEGER,
  touched INTEGER NOT NULL
);
CREATE INDEX review_by_change ON review (run_id, touched);

-- What a scorer said of a run's transcripts afterwards. A scoring counts once it has ended; then it has a number, from 2
-- on, the run's own scores being number 1.
CREATE TABLE scoring (
  run_id            TEXT NOT NULL,
  scoring           TEXT NOT NULL,
  number            INTEGER,
  scorer            TEXT NOT NULL,
  digest            TEXT,
  env_fingerprint   TEXT,
  fingerprint_parts TEXT NOT NULL,
  expected          TEXT NOT NULL,
  source            TEXT NOT NULL,
  author            TEXT NOT NULL,
  host              TEXT NOT NULL,
  started_at        REAL NOT NULL,
  ended_at          REAL,
  started_seq       INTEGER NOT NULL,
  ended_seq         INTEGER,
  PRIMARY KEY (run_id, scoring)
) WITHOUT ROWID;

-- A row for each take that a scoring looked at.
CREATE TABLE rescored (
  run_id           TEXT NOT NULL,
  scoring          TEXT NOT NULL,
  task             INTEGER NOT NULL,
  attempt          INTEGER NOT NULL,
  take             INTEGER NOT NULL,
  passed           INTEGER,
  value            REAL,
  reason           TEXT,
  detail           TEXT,
  error            TEXT,
  error_type       TEXT,
  duration_seconds REAL NOT NULL,
  input_tokens     INTEGER NOT NULL,
  output_tokens    INTEGER NOT NULL,
  cost             REAL,
  seq              INTEGER NOT NULL,
  PRIMARY KEY (run_id, scoring, task, attempt, take)
) WITHOUT ROWID;

CREATE TABLE live (
  run_id  TEXT NOT NULL,
  task    INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  take    INTEGER NOT NULL,
  data    BLOB NOT NULL,
  PRIMARY KEY (run_id, task, attempt, take)
);
