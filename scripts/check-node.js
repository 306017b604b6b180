// After `npm ci`: prints one line if the Node in use is too old for Holdfast. Plain JavaScript, which any Node runs.
import { readFileSync } from "node:fs";

const { engines, devDependencies } =
  /** @type {{ engines: { node: string }, devDependencies: { node: string } }} */ (
    JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"))
  );

/** @type {(text: string) => { version: string, major: number, minor: number }} */
function nodeVersion(text) {
  const [version = "", major, minor] = /(\d+)\.(\d+)[\d.]*/.exec(text) ?? [];
  return { version, major: Number(major), minor: Number(minor) };
}

// npm puts this repository's own Node on PATH, so `process.version` is not the user's.
const found = nodeVersion(/\bnode\/v\S+/.exec(process.env["npm_config_user_agent"] ?? "")?.[0] ?? "");
const needed = nodeVersion(engines.node);
if (found.major < needed.major || (found.major === needed.major && found.minor < needed.minor)) {
  console.log(
    `Holdfast needs Node ${needed.version} or later, and this is Node ${found.version}. The npm scripts in this repository run on Node ${devDependencies.node}, so use them.`,
  );
}
