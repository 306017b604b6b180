// Has a Postgres until it is ended: node server-holder.ts. Prints its process id and its URL.
import { OwnServer } from "./own-server.ts";

const { pid, url } = await OwnServer.start();
console.log(`${pid} ${url}`);
