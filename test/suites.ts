// Which tests run when, as globs. `npm test` leaves out everything here except `shortened`.

/** Suites with their own command: they need a browser, third-party packages or the whole machine, or take minutes. */
export const apart = [
  "test/browser/**/*.test.ts",
  "test/chaos/**/*.test.ts",
  "test/fuzz/guided.test.ts",
  "test/load/{leak,load,waits}.test.ts",
  "test/peers/**/*.test.ts",
  "test/soak/**/*.test.ts",
];

/** Only in `npm run test:slow`: most start, kill or type into dozens of processes; the others try thousands of cases. */
export const slow = [
  "test/bench/**/*.test.ts",
  "test/cli/{dashboard,endings,init,login,refresh}.test.ts",
  "test/cli/{questions-without-terminal,resources-and-prompts,third-party-servers}.test.ts",
  "test/cli/admin/{backup,beside,commands,encrypted,gc,operator,terminal}.test.ts",
  "test/cli/completion/shell.test.ts",
  "test/cli/screens/**/*.test.ts",
  "test/cli/terminal/{interactive,list,questions,server-away}.test.ts",
  "test/client/flaky/**/*.test.ts",
  "test/client/handles/{crash/crash,many-processes}.test.ts",
  "test/client/sep-1686/end-to-end.test.ts",
  "test/conformance/{client,conformance}.test.ts",
  "test/crash/{backup,events,many-owners,sep-1686,trees}.test.ts",
  "test/examples/{cluster,everything*,index-folder*,testing}.test.ts",
  "test/examples/hosting/**/*.test.ts",
  "test/interop/**/*.test.ts",
  "test/model/{crash,sqlite}.test.ts",
  "test/nodes/**/*.test.ts",
  "test/owners/**/*.test.ts",
  "test/postgres/own-server.test.ts",
  "test/runtime/{crash-at-each-write,retry-crashes,trees-at-each-write,version-crashes}.test.ts",
  "test/sdk-v1/{restart,sdk-examples,two-processes}.test.ts",
  "test/store/sqlite/{queue-seeks,several-processes}.test.ts",
  "test/traps/{backup,rejections}.test.ts",
  "test/webhooks/crash.test.ts",
];

/** In `npm test` in a short form, and in `npm run test:slow` in full (`test/full-form.ts`). */
export const shortened = [
  "test/conformance/ours/**/*.test.ts",
  "test/contract/encrypted.test.ts",
  "test/crash/crash.test.ts",
  "test/model/{memory,postgres,races}.test.ts",
  "test/runtime/{fairness,never-dropped,random-worlds,same-order}.test.ts",
  "test/store/fair-order.test.ts",
  "test/store/postgres/query-plans.test.ts",
  "test/testing/random-replays.test.ts",
  "test/traps/poison.test.ts",
];
