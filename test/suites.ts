// Which tests run when, as globs. `npm test` runs all files that are neither `slow` nor `alone`; `npm run test:full` runs all, in full.

/** `npm run test:quick`: a first look, in process. */
export const quick = [
  "test/task/**/*.test.ts",
  "test/generation/**/*.test.ts",
  "test/contract/memory.test.ts",
  "test/server/task-lifecycle.test.ts",
  "test/client/end-to-end.test.ts",
];

/** `npm run test:slow`: most start, kill or type into dozens of processes; the others try thousands of cases, or need a browser or packages of others. */
export const slow = [
  "test/artifacts/**/*.test.ts",
  "test/admin/{bulk,retry}-killed.test.ts",
  "test/bench/**/*.test.ts",
  "test/browser/**/*.test.ts",
  "test/cli/{call,check,dashboard,endings,init,list,login,logs,refresh,save,tasks,tools}.test.ts",
  "test/cli/{questions-without-terminal,resources-and-prompts,session,third-party-servers}.test.ts",
  "test/cli/admin/{beside,commands,delete-principal,dump*,encrypted,export,gc,operator,reseal,rotate-secrets,terminal}.test.ts",
  "test/cli/completion/shell.test.ts",
  "test/cli/screens/**/*.test.ts",
  "test/cli/terminal/{interactive,list,questions,server-away}.test.ts",
  "test/client/{stdio,watch-lifetime}.test.ts",
  "test/client/flaky/**/*.test.ts",
  "test/client/handles/{crash/crash,many-processes}.test.ts",
  "test/client/sep-1686/end-to-end.test.ts",
  "test/conformance/{client,conformance,gateway}.test.ts",
  "test/contract/{encrypted,own-database*,postgres,sqlite}.test.ts",
  "test/crash/{crash,dump,events,many-owners,sep-1686,trees}.test.ts",
  "test/examples/{agent,cluster,demo-servers,drop-in,first-tool,gateway,guides,index-folder*,job-front,media,observability,scaling,serve,starts,testing}.test.ts",
  "test/everything/**/*.test.ts",
  "test/examples/hosting/**/*.test.ts",
  "test/exec/**/*.test.ts",
  "test/failover/**/*.test.ts",
  "test/fuzz/{guided,http-front}.test.ts",
  "test/host/killed-agent.test.ts",
  "test/interop/**/*.test.ts",
  "test/load/{leak,load,waits}.test.ts",
  "test/model/{crash,sqlite}.test.ts",
  "test/nodes/**/*.test.ts",
  "test/owners/**/*.test.ts",
  "test/peers/**/*.test.ts",
  "test/postgres/{own-server,pgbouncer}.test.ts",
  "test/server/answered-calls.test.ts",
  "test/runtime/{crash-at-each-write,deploys,fairness,long-polls,many-deploys,one-history,random-worlds,recovery-of-many,retry-crashes,trees-at-each-write,version-crashes}.test.ts",
  "test/sdk-v1/{flow,restart,sdk-examples,two-processes}.test.ts",
  "test/serve/mcp/{killed,reference-server,restarts}.test.ts",
  "test/soak/**/*.test.ts",
  "test/spec/pairwise/{agreement,answers}.test.ts",
  "test/store/encryption/{moved-values,reseal}.test.ts",
  "test/store/{dump-while-writing,moved-store}.test.ts",
  "test/store/postgres/{outage,suitable}.test.ts",
  "test/store/sqlite/{changes-of-others,open-database,queue-seeks,several-processes,stopped-in-commit,unreadable}.test.ts",
  "test/telemetry/killed-server.test.ts",
  "test/testing/random-replays.test.ts",
  "test/threads/thread-steps.test.ts",
  "test/traps/{backup,poison,rejections,restarts}.test.ts",
  "test/webhooks/crash.test.ts",
  "test/worlds/worlds.test.ts",
];

/** Only in `npm run test:full`, one after the other: they need the whole machine. */
export const alone = ["test/chaos/**/*.test.ts"];

/**
 * Run in Postgres too, by `test:slow` and `test:full`: several processes share a database in place of a file, the everything server uses a
 * database, and `holdfast/memory` is a schema.
 */
export const postgres = [
  "test/conformance/{conformance,ours/ours}.test.ts",
  "test/crash/**/*.test.ts",
  "test/isolation/sessions.test.ts",
  "test/owners/**/*.test.ts",
  "test/server/2025-11-25/**/*.test.ts",
  "test/server/auth/{principals,sdk-client,*scopes}.test.ts",
  "test/server/sep-1686/{keep,life,questions}*.test.ts",
  "test/server/{child-questions,session-http,task-lifecycle}.test.ts",
];

/** Run with encrypted stores too, by `test:slow` and `test:full`. */
export const encrypted = ["test/crash/**/*.test.ts", "test/owners/**/*.test.ts"];
