// A client that saves an artifact: node client.ts URL WARM_UP_URI URI PATH. It prints how far it is, and how its memory grows.
import { connect } from "holdfast/client";
import { tellGrowth } from "./memory.ts";
import { tell } from "./tell.ts";

const [url = "", small = "", uri = "", path = ""] = process.argv.slice(2);

const client = await connect(url, { pollFloorMs: 50 });
await client.saveArtifact(small, `${path}.small`); // what is loaded and compiled once is no part of what an artifact takes
tellGrowth();
let isHalf = false;
const saved = await client.saveArtifact(uri, path, {
  onProgress: (bytes, size) => {
    if (!isHalf && bytes >= size / 2) tell({ half: true });
    isHalf ||= bytes >= size / 2;
  },
});
await client.close();
tell({ saved });
