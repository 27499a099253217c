//! The steps of the queue as Lua scripts, each of which the server runs atomically.
//!
//! Keys: `run` (hash), `searches` (name to settings), `items` (number to search and text), `ready` (list of
//! numbers), `leases` (number by end of lease), `tokens` (number to token), `left` (search to number of items),
//! `sums` and `facts` (search and name to value), `findings` (list), `keys` (search and key of a finding), `ends`
//! (search to reason), `problems` (number to count), `workers` (name by time), `next` (last number), `front`
//! (token), `sketched` (searches whose classes are not counted exactly), `budgets` (limited search to runs that are left
//! and not granted), `grants` (number to granted runs), `granted` (search to sum of granted runs). The names of `classes` (set) and `ranks`
//! (register to rank) are followed by that of the search.
//!
//! All keys have one hash tag, so they are on one node of a cluster. An item is in `items` until it is committed,
//! and a search has ended when it has none left. The server's clock decides when a lease ends; a clock that is
//! wrong only has work done twice, because a commit needs the token.

/// Names of the keys, in the order in which scripts receive them.
pub const KEYS: [&str; 22] = [
    "run", "searches", "items", "ready", "leases", "tokens", "left", "sums", "facts", "findings",
    "keys", "ends", "problems", "workers", "next", "front", "sketched", "classes", "ranks",
    "budgets", "grants", "granted",
];

/// The beginning of every script.
const COMMON: &str = r"
local RUN, SEARCHES, ITEMS, READY, LEASES, TOKENS, LEFT, SUMS, FACTS, FINDINGS,
    FINDING_KEYS, ENDS, PROBLEMS, WORKERS, NEXT, FRONT, SKETCHED, CLASSES, RANKS,
    BUDGETS, GRANTS, GRANTED = unpack(KEYS)
local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function add(search, text)
    local id = call('INCR', NEXT)
    call('HSET', ITEMS, id, search .. '\n' .. text)
    call('RPUSH', READY, id)
    call('HINCRBY', LEFT, search, 1)
end

-- The lists at the end of the arguments: each is the number of its elements, and these.
local position
local function list()
    local first = position + 1
    position = first + ARGV[position]
    return first, position - 1
end

-- Takes back the runs that were granted to an item, but for those that were made.
local function give_back(id, search, made)
    local grant = call('HGET', GRANTS, id)
    if grant then
        call('HDEL', GRANTS, id)
        call('HINCRBY', GRANTED, search, -grant)
        if tonumber(grant) > made then
            call('HINCRBY', BUDGETS, search, grant - made)
        end
    end
end

local function drop(id, search)
    give_back(id, search, 0)
    call('HDEL', ITEMS, id)
    call('HDEL', TOKENS, id)
    call('ZREM', LEASES, id)
    call('HDEL', PROBLEMS, id)
    call('HINCRBY', LEFT, search, -1)
end

local function search_of(item)
    local at = string.find(item, '\n', 1, true)
    return string.sub(item, 1, at - 1), at
end

local function seen(worker, gone)
    call('ZREMRANGEBYSCORE', WORKERS, '-inf', now - gone)
    call('ZADD', WORKERS, now, worker)
end
";

/// A script.
pub struct Script(&'static str);

impl Script {
    /// The part of the text that other scripts do not have.
    pub fn body(&self) -> &'static str {
        self.0
    }

    pub fn text(&self) -> String {
        format!("{COMMON}{DROP_READY}{}", self.0)
    }
}

/// version, environment
pub const OPEN_RUN: Script = Script(
    r"
if call('EXISTS', RUN) == 0 then
    call('HSET', RUN, 'version', ARGV[1], 'environment', ARGV[2])
end
return call('HMGET', RUN, 'version', 'environment')
",
);

pub const RUN: Script = Script("return call('HMGET', RUN, 'version', 'environment')");

/// token, milliseconds
pub const HOLD_FRONT: Script = Script(
    r"
local holder = call('GET', FRONT)
if holder and holder ~= ARGV[1] then
    return 0
end
call('SET', FRONT, ARGV[1], 'PX', ARGV[2])
return 1
",
);

/// token
pub const RELEASE_FRONT: Script = Script(
    r"
if call('GET', FRONT) == ARGV[1] then
    call('DEL', FRONT)
end
return 1
",
);

/// search, settings, maximum number of runs or an empty text, then four lists: sums and facts with their values,
/// findings with their keys, items
pub const START: Script = Script(
    r"
local search = ARGV[1]
local there = call('HGET', SEARCHES, search)
if there then
    return there
end
call('HSET', SEARCHES, search, ARGV[2])
if ARGV[3] ~= '' then
    call('HSET', BUDGETS, search, ARGV[3])
end
position = 4
for _, key in ipairs({SUMS, FACTS}) do
    local first, last = list()
    for at = first, last, 2 do
        call('HSET', key, search .. '\n' .. ARGV[at], ARGV[at + 1])
    end
end
local first, last = list()
for at = first, last, 2 do
    call('HSET', FINDING_KEYS, search .. '\n' .. ARGV[at], 1)
    call('RPUSH', FINDINGS, search .. '\n0\n' .. ARGV[at + 1])
end
first, last = list()
for at = first, last do
    add(search, ARGV[at])
end
return false
",
);

/// search
pub const EXPORT: Script = Script(
    r"
local search = ARGV[1]
local ending = call('HGET', ENDS, search)
if call('HEXISTS', SEARCHES, search) == 0 or ending and ending ~= 'exported' then
    return false
end
call('HSET', ENDS, search, 'exported')
local items = {}
for _, item in ipairs(call('HVALS', ITEMS)) do
    local of_search, at = search_of(item)
    if of_search == search then
        items[#items + 1] = string.sub(item, at + 1)
    end
end
return items
",
);

/// worker, token, milliseconds, milliseconds after which a worker is gone, fewest runs that are granted
pub const LEASE: Script = Script(
    r"
if call('EXISTS', RUN) == 0 then
    return {'none'}
end
seen(ARGV[1], ARGV[4])
local function take(id)
    local item = call('HGET', ITEMS, id)
    if not item then
        call('ZREM', LEASES, id)
        return nil
    end
    local search, at = search_of(item)
    local ending = call('HGET', ENDS, search)
    if ending == 'exported' then
        call('HDEL', TOKENS, id)
        call('ZREM', LEASES, id)
        call('RPUSH', READY, id)
        return nil
    end
    if ending then
        drop(id, search)
        return nil
    end
    give_back(id, search, 0)
    local workers = call('ZCARD', WORKERS)
    local grant = false
    local budget = call('HGET', BUDGETS, search)
    if budget then
        budget = tonumber(budget)
        if budget == 0 then
            -- Others have the runs that are left, and may give some of them back.
            call('HDEL', TOKENS, id)
            call('ZREM', LEASES, id)
            call('RPUSH', READY, id)
            return nil
        end
        grant = math.min(budget, math.max(tonumber(ARGV[5]), math.floor(budget / (2 * workers))))
        call('HINCRBY', BUDGETS, search, -grant)
        call('HINCRBY', GRANTED, search, grant)
        call('HSET', GRANTS, id, grant)
    end
    call('HSET', TOKENS, id, ARGV[2])
    call('ZADD', LEASES, now + ARGV[3], id)
    local known = {}
    for _, key in ipairs(call('HKEYS', FINDING_KEYS)) do
        if string.sub(key, 1, at) == search .. '\n' then
            known[#known + 1] = string.sub(key, at + 1)
        end
    end
    return {'item', id, search, string.sub(item, at + 1), known,
        call('LLEN', READY), workers, call('SISMEMBER', SKETCHED, search), grant}
end
-- Each item is looked at once.
for _ = 1, call('LLEN', READY) + call('ZCARD', LEASES) + 1 do
    local id = call('ZRANGEBYSCORE', LEASES, '-inf', now, 'LIMIT', 0, 1)[1] or call('LPOP', READY)
    if not id then
        return {'empty', call('EXISTS', FRONT)}
    end
    local taken = take(id)
    if taken then
        return taken
    end
end
return {'empty', call('EXISTS', FRONT)}
",
);

/// item, token, worker, milliseconds, milliseconds after which a worker is gone
pub const HEARTBEAT: Script = Script(
    r"
if call('HGET', TOKENS, ARGV[1]) ~= ARGV[2] then
    return 0
end
seen(ARGV[3], ARGV[5])
call('ZADD', LEASES, now + ARGV[4], ARGV[1])
return 1
",
);

/// item, token, search, name of the sum before findings, 1 if the search is over, maximum number of classes that are
/// counted exactly, number of runs, the item that follows when none is left or an empty text, then six lists, each with the number of its elements first: sums and facts with their values,
/// findings with their keys, items, classes, registers with their ranks
pub const COMMIT: Script = Script(
    r"
local id, token, search = ARGV[1], ARGV[2], ARGV[3]
if call('HGET', TOKENS, id) ~= token then
    return 'late'
end
local ending = call('HGET', ENDS, search)
if ending == 'exported' then
    return 'late'
end
if ending and ending ~= 'stopping' then
    drop(id, search)
    return 'late'
end
position = 9
local before = call('HGET', SUMS, search .. '\n' .. ARGV[4]) or '0'
local first, last = list()
for at = first, last, 2 do
    call('HINCRBY', SUMS, search .. '\n' .. ARGV[at], ARGV[at + 1])
end
first, last = list()
for at = first, last, 2 do
    call('HSETNX', FACTS, search .. '\n' .. ARGV[at], ARGV[at + 1])
end
first, last = list()
for at = first, last, 2 do
    if call('HSETNX', FINDING_KEYS, search .. '\n' .. ARGV[at], 1) == 1 then
        call('RPUSH', FINDINGS, search .. '\n' .. before .. '\n' .. ARGV[at + 1])
    end
end
first, last = list()
if not ending then
    for at = first, last do
        add(search, ARGV[at])
    end
end
give_back(id, search, tonumber(ARGV[7]))
drop(id, search)
first, last = list()
if call('SISMEMBER', SKETCHED, search) == 0 then
    local exact = CLASSES .. '\n' .. search
    -- A call has a few thousand arguments at most.
    for at = first, last, 1000 do
        call('SADD', exact, unpack(ARGV, at, math.min(at + 999, last)))
    end
    if call('SCARD', exact) > tonumber(ARGV[6]) then
        call('SADD', SKETCHED, search)
        call('DEL', exact)
    end
end
first, last = list()
local ranks = RANKS .. '\n' .. search
for at = first, last, 2 do
    if tonumber(ARGV[at + 1]) > tonumber(call('HGET', ranks, ARGV[at]) or '0') then
        call('HSET', ranks, ARGV[at], ARGV[at + 1])
    end
end
if ARGV[5] == '1' then
    call('HSET', ENDS, search, 'finding')
elseif call('HGET', LEFT, search) == '0' and not ending and ARGV[8] ~= '' then
    add(search, ARGV[8])
elseif call('HGET', LEFT, search) == '0' then
    call('HSET', ENDS, search, ending and 'stopped' or 'exhausted')
elseif call('HGET', BUDGETS, search) == '0' and call('HGET', GRANTED, search) == '0' then
    call('HSET', ENDS, search, 'spent')
end
return 'done'
",
);

/// item, token, search, maximum number of problems, the problem if there is one
pub const ABANDON: Script = Script(
    r"
local id = ARGV[1]
if call('HGET', TOKENS, id) ~= ARGV[2] then
    return 0
end
if call('HGET', ENDS, ARGV[3]) == 'stopping' then
    drop(id, ARGV[3])
    if call('HGET', LEFT, ARGV[3]) == '0' then
        call('HSET', ENDS, ARGV[3], 'stopped')
    end
    return 1
end
give_back(id, ARGV[3], 0)
call('HDEL', TOKENS, id)
call('ZREM', LEASES, id)
call('RPUSH', READY, id)
if ARGV[5] and call('HINCRBY', PROBLEMS, id, 1) >= tonumber(ARGV[4]) then
    call('HSETNX', ENDS, ARGV[3], 'broken\n' .. ARGV[5])
end
return 1
",
);

/// Removes the items of a search that are not leased.
const DROP_READY: &str = r"
local function drop_ready(search)
    local others = {}
    for _, id in ipairs(call('LRANGE', READY, 0, -1)) do
        local item = call('HGET', ITEMS, id)
        if item and search_of(item) == search then
            drop(id, search)
        else
            others[#others + 1] = id
        end
    end
    call('DEL', READY)
    for _, id in ipairs(others) do
        call('RPUSH', READY, id)
    end
end
";

/// search, item, name of the fact
pub const GO_ON: Script = Script(
    r"
local search, fact = ARGV[1], ARGV[1] .. '\n' .. ARGV[3]
local ending = call('HGET', ENDS, search)
local is_over = ending == 'stopped' or ending == 'spent' or ending == 'exhausted'
if not is_over or call('HEXISTS', FACTS, fact) == 1 then
    return 0
end
drop_ready(search)
for _, id in ipairs(call('HKEYS', TOKENS)) do
    local item = call('HGET', ITEMS, id)
    if item and search_of(item) == search then
        drop(id, search)
    end
end
call('HDEL', ENDS, search)
call('HDEL', BUDGETS, search)
call('HSET', FACTS, fact, '')
add(search, ARGV[2])
return 1
",
);

/// search, fact, detail
pub const NOTE: Script = Script(
    r"
local search = ARGV[1]
local ending = call('HGET', ENDS, search)
if call('HEXISTS', SEARCHES, search) == 1 and (not ending or ending == 'stopping') then
    call('HSET', FACTS, search .. '\n' .. ARGV[2], ARGV[3])
end
return 1
",
);

/// search, 1 if it ends at once
pub const STOP: Script = Script(
    r"
local search = ARGV[1]
local ending = call('HGET', ENDS, search)
if call('HEXISTS', SEARCHES, search) == 0 or ending and ending ~= 'stopping' then
    return 0
end
drop_ready(search)
local is_over = ARGV[2] == '1' or call('HGET', LEFT, search) == '0'
call('HSET', ENDS, search, is_over and 'stopped' or 'stopping')
return 1
",
);

/// milliseconds after which a worker is gone
pub const STATUS: Script = Script(
    r"
if call('EXISTS', RUN) == 0 then
    return false
end
-- For each search its name and the number of classes, or pairs of a rank and the number of registers with it.
local classes = {}
for _, search in ipairs(call('HKEYS', SEARCHES)) do
    if call('SISMEMBER', SKETCHED, search) == 0 then
        classes[#classes + 1] = {search, call('SCARD', CLASSES .. '\n' .. search)}
    else
        local counts, of_search = {}, {search}
        for _, rank in ipairs(call('HVALS', RANKS .. '\n' .. search)) do
            counts[rank] = (counts[rank] or 0) + 1
        end
        for rank, count in pairs(counts) do
            of_search[#of_search + 1] = {rank, count}
        end
        classes[#classes + 1] = of_search
    end
end
return {call('HGETALL', SEARCHES), call('HGETALL', LEFT), call('HGETALL', SUMS), call('HGETALL', FACTS),
    call('LRANGE', FINDINGS, 0, -1), call('HGETALL', ENDS), call('LLEN', READY), call('ZCARD', LEASES),
    call('ZRANGEBYSCORE', WORKERS, now - ARGV[1], '+inf'), call('EXISTS', FRONT), classes}
",
);

pub const REMOVE_RUN: Script = Script(
    r"
for _, search in ipairs(call('HKEYS', SEARCHES)) do
    call('DEL', CLASSES .. '\n' .. search, RANKS .. '\n' .. search)
end
return call('DEL', unpack(KEYS))
",
);
