import { assertAnswer } from "../client/answers.ts";
import { StatelessRequests } from "../client/requests.ts";
import { compare, type Side } from "../load.ts";
import type { ServerProcess } from "../server-process.ts";
import type { Figure } from "./figure.ts";
import { withServers } from "./with-servers.ts";

/** Calls the tool as a client without tasks, so that the answer of the call is the result. */
function calls(server: ServerProcess): Side {
  return {
    servers: [server],
    client: async (connection, url) => {
      const call = new StatelessRequests(url, undefined, {}).call("add", { a: 19, b: 23 });
      return async () => assertAnswer(await connection.send(call), '"text":"42"');
    },
  };
}

/** Only the gateway's processor time counts: the server behind it is another process, and the same for both. */
const figure = (name: string, title: string, env: Readonly<Record<string, string>>): Figure => ({
  name,
  title,
  against: "a relay of the SDK's client and server",
  unit: "/s",
  goal: { atLeast: 0.67 },
  measure: ({ folder, effort }) =>
    withServers(folder, async (start) => {
      const { url } = await start("./servers/sdk-v2.ts");
      const gateway = await start("./servers/gateway.ts", { ...env, UPSTREAM: url });
      const relay = await start("./servers/relay.ts", { UPSTREAM: url });
      return compare(calls(gateway), calls(relay), effort);
    }),
});

export const gatewayPassed = figure(
  "gateway-passed",
  "tools/call of another server through a gateway, passed on (durable: false)",
  { DURABLE: "false" },
);

export const gatewayDurable = figure(
  "gateway-durable",
  "tools/call of another server through a gateway, as a task; SQLite with synchronous FULL",
  {},
);
