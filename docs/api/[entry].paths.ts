import { readPages } from "../../src/cli/command/docs.ts";

// VitePress reads the pages of a folder from a default export only.
export default {
  paths: async () => {
    const pages = await readPages();
    return pages
      .filter(({ part }) => part === "api")
      .map(({ topic, text }) => ({
        params: { entry: topic },
        // The types that only declarations need have no colours, which would make their page a megabyte.
        content: topic.endsWith("-types") ? text.replaceAll("```ts", "```") : text,
      }));
  },
};
