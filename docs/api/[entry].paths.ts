import { readPages } from "../../src/cli/command/docs.ts";

/** The types that only declarations need have no colours: with them, a page would be a megabyte. */
function plainTypes(text: string): string {
  const [shown = "", types = ""] = text.split(/^(?=## Types without an export$)/m);
  return `${shown}${types.replaceAll("```ts", "```")}`;
}

// VitePress reads the pages of a folder from a default export only.
export default {
  paths: async () => {
    const pages = await readPages();
    return pages
      .filter(({ part }) => part === "api")
      .map(({ topic, text }) => ({ params: { entry: topic }, content: plainTypes(text) }));
  },
};
