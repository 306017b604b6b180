import { connect, fileLogins, logIn } from "holdfast/client";

const url = process.argv[2] ?? "http://127.0.0.1:3000/mcp";
const logins = fileLogins("logins");

// Once: show the user the login address, or open it.
await logIn(url, { store: logins, onAddress: (address) => console.log(address.url.href) });

// Afterwards, in this process or another.
const client = await connect(url, { auth: logins });
const { tools } = await client.sdk.listTools();
console.log(tools.map((tool) => tool.name).join(" "));
await client.close();
