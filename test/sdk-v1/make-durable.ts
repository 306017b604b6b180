import { registerHooks } from "node:module";
import { Server } from "node:net";

// To be loaded before an example server of the SDK: gives it our stores, and tells the port that it got.

registerHooks({
  resolve: (specifier, context, next) =>
    specifier.endsWith("/experimental/tasks/stores/in-memory.js")
      ? { url: new URL("./durable-in-memory.ts", import.meta.url).href, shortCircuit: true }
      : next(specifier, context),
});

// oxlint-disable-next-line typescript/unbound-method -- called on its own object below
const { listen } = Server.prototype;
Server.prototype.listen = function (this: Server, ...args: unknown[]) {
  this.once("listening", () => {
    const address = this.address();
    if (typeof address === "object" && address !== null) console.log(`port ${address.port}.`);
  });
  return Reflect.apply(listen, this, args) as Server;
};
