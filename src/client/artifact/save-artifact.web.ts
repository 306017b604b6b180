import { onlyInNode } from "../only-in-node.ts";
import type * as Node from "./save-artifact.ts";

export const saveArtifact: typeof Node.saveArtifact = async () =>
  onlyInNode("saveArtifact", "read the artifact with readResource, part by part");
