import { parse } from 'node:path';
import { defaultClientConditions, defineConfig } from 'vite';
import { emitAppIcons } from './app-icons.ts';
import { compileCatalogues } from './message-compiler.ts';
import { workerLicenses } from './worker-licenses.ts';

/** The modules that each page of a folder loads after its rows. With these, their group has those that they import. */
const AFTER_ROWS = new Set(
  `band-selection badges change-model column-controls dialog-prompts drag-events folder-states image-preview interrupted
  live-folder menu name-field open-tray photos reason shares shown-messages sidebar tile-size tiles time-of-day transitions
  type-names upload-model viewer web-app`.split(/\s+/),
);
const isAfterRows = (id: string) => id.includes('/web/src/') && AFTER_ROWS.has(parse(id).name);

/** Builds the web UI into `web/dist`. `src/http/page` serves it, and reads the names of its files from the manifest. */
export default defineConfig({
  root: import.meta.dirname,
  // Relative URLs, because a proxy can serve the page below any path.
  base: './',
  publicDir: false,
  // In a worker, some packages need another entry point, because it has no document.
  resolve: { conditions: ['worker', ...defaultClientConditions] },
  plugins: [compileCatalogues(), emitAppIcons()],
  worker: { format: 'es', plugins: () => [workerLicenses()] },
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    manifest: true,
    license: { fileName: 'licenses.md' },
    target: ['chrome123', 'firefox121', 'safari17.5'],
    // The Content-Security-Policy of the page forbids `data:` URLs, so no file is inlined.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      input: ['main.tsx', 'early.ts', 'first-language.ts', 'app/offline.ts'].map(
        (name) => `${import.meta.dirname}/src/${name}`,
      ),
      output: {
        // The first load is one file, although lazily loaded code shares parts of it. The code that requests the texts is
        // a file of its own, because the browser runs it while it loads the other one. What each page of a folder loads
        // after its rows is one file, too.
        codeSplitting: {
          groups: [
            { name: 'language', test: /[\\/]text[\\/]supported-languages\.ts$|preload-helper/, priority: 2 },
            { name: 'page', test: /[\\/]src[\\/]app[\\/](app|create-page)\.tsx?$/, priority: 1 },
            { name: 'folder', test: isAfterRows },
          ],
        },
      },
    },
  },
});
