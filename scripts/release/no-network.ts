// Loaded before a program: ends it at a connection that leaves this machine, and at a question to a name server.
import dns from "node:dns";
import net from "node:net";

function expectHere(host: unknown): void {
  if (host === undefined || (typeof host === "string" && /^(localhost|127\.|::1$)/.test(host))) return;
  process.stderr.write(`The program asks the network for ${JSON.stringify(host)}.\n`);
  process.exit(1);
}

/** The host of the arguments of `connect`: an object, or a port and a host, in a list or not. */
function hostOf(args: readonly unknown[]): unknown {
  const [first, second]: readonly unknown[] = Array.isArray(args[0]) ? args[0] : args;
  return typeof first === "object" && first !== null && "host" in first ? first.host : second;
}

/** The function, which looks at its arguments first. */
const watched = <F extends object>(call: F, look: (args: readonly unknown[]) => void): F =>
  new Proxy(call, {
    apply(target, self, args: unknown[]) {
      look(args);
      return Reflect.apply(target as (...all: unknown[]) => unknown, self, args);
    },
  });

Object.assign(net.Socket.prototype, {
  connect: watched(Reflect.get(net.Socket.prototype, "connect"), (args) => {
    const host = hostOf(args);
    if (typeof host !== "function") expectHere(host);
  }),
});
dns.lookup = watched(dns.lookup, ([host]) => expectHere(host));
