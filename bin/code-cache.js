// A default import: old Node.js versions lack `enableCompileCache`, and `requireNode` reports them.
import module from 'node:module';
import { fileURLToPath } from 'node:url';

/**
 * Where V8's compiled code is kept: in the package, because programs that can write there can run code as the service anyway. Node.js
 * adds a folder for its version and the user, and replaces the code of changed files.
 */
export const CODE_CACHE = fileURLToPath(new URL('../node_modules/.cache/holdall/code', import.meta.url));

/**
 * Uses the compiled code of earlier starts. `fill-code-cache.js` stores it; where the user may write, so does each process that stops
 * gracefully. Without it, the service only starts more slowly.
 */
export function enableCodeCache() {
  module.enableCompileCache(CODE_CACHE);
}
