import { fileURLToPath } from "node:url";
import { defineConfig, type Plugin } from "vite";

/** The server that serves the page knows where it does, and puts that for `%BASE%`. */
const servedAnywhere: Plugin = {
  name: "served-anywhere",
  transformIndexHtml: {
    order: "post",
    handler: (html) => html.replaceAll(/(src|href)="\/(app\.\w+)"/g, '$1="%BASE%/$2"'),
  },
};

const folder = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

// Vite reads its configuration from a default export only.
export default defineConfig({
  root: folder("."),
  plugins: [servedAnywhere],
  logLevel: "warn",
  build: {
    outDir: folder("../dist/dashboard"),
    emptyOutDir: false,
    target: "es2023",
    cssCodeSplit: false,
    modulePreload: false,
    assetsInlineLimit: 0,
    rolldownOptions: {
      checks: { bundlerTimings: false },
      output: { entryFileNames: "app.js", assetFileNames: "app[extname]", codeSplitting: false },
    },
  },
});
