import { defaultClientConditions, defineConfig } from 'vite';
import { emitAppIcons } from './app-icons.ts';
import { compileCatalogues } from './message-compiler.ts';
import { workerLicenses } from './worker-licenses.ts';

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
        // a file of its own, because the browser runs it while it loads the other one.
        codeSplitting: {
          groups: [
            { name: 'language', test: /[\\/]text[\\/]supported-languages\.ts$|preload-helper/, priority: 1 },
            { name: 'page', test: /[\\/]src[\\/]app[\\/](app|create-page)\.tsx?$/ },
          ],
        },
      },
    },
  },
});
