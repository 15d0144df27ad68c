import { readFileSync } from 'node:fs';

/*
 * Fails for lockfile entries without a checksum, and for entries with an install script: a script can download
 * content that no checksum covers. Build tools of other platforms are exempt if the registry that made the lockfile
 * lacks them. They are never installed on this platform, and never published.
 */

const { packages } = JSON.parse(readFileSync(new URL('../package-lock.json', import.meta.url), 'utf8'));

/** @type {string[]} */
const problems = [];
let unverified = 0;
for (const [place, entry] of Object.entries(packages)) {
  if (place === '') continue;
  const isForeignTool = entry.dev && entry.optional && entry.os && entry.cpu;
  if (!entry.integrity && isForeignTool) unverified++;
  else if (!entry.integrity)
    problems.push(`${place} has no "integrity". Run: npm install, on the Node.js of the project`);
  if (entry.hasInstallScript && !entry.optional) problems.push(`${place} runs a script at install.`);
}
for (const problem of problems) process.stderr.write(`package-lock.json: ${problem}\n`);
if (unverified > 0) {
  process.stdout.write(
    `package-lock.json: ${unverified} build tools of other platforms have no "integrity". Where the registry has them: node scripts/complete-lockfile.js --integrity\n`,
  );
}
process.exitCode = problems.length > 0 ? 1 : 0;
