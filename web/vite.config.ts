import { defaultClientConditions, defineConfig } from 'vite';
import { compileCatalogues } from './message-compiler.ts';
import { workerLicenses } from './worker-licenses.ts';

/** The web page, built into `web/dist`; `src/http/page` serves it, with the names that the manifest has. */
export default defineConfig({
  root: import.meta.dirname,
  // Relative: the page works wherever a proxy puts the service.
  base: './',
  publicDir: false,
  // Some of what runs in a worker would else need a document.
  resolve: { conditions: ['worker', ...defaultClientConditions] },
  plugins: [compileCatalogues()],
  worker: { format: 'es', plugins: () => [workerLicenses()] },
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    manifest: true,
    license: { fileName: 'licenses.md' },
    target: ['chrome123', 'firefox121', 'safari17.5'],
    // Nothing may be inlined as a `data:` URL, which the page's policy does not allow.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      input: ['main.tsx', 'early.ts', 'first-language.ts'].map((name) => `${import.meta.dirname}/src/${name}`),
      output: {
        // What is loaded at first comes in one piece, though parts of it are used by what is loaded later as well.
        // Except what requests the texts, which the browser runs while it loads the rest.
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
