/** The least version of Node.js that runs TypeScript as it is; the same as in package.json. */
const LEAST = 24;

/** Ends the process with one clear line on a Node.js that is too old. JavaScript that old versions read as well. */
export function requireNode() {
  const major = Number(process.versions.node.split('.')[0]);
  if (major >= LEAST) return;
  process.stderr.write(
    `holdall: Node.js ${LEAST} or later is needed, and this is ${process.versions.node}. In a checkout, ` +
      '"npm ci" installs a suitable one, and "npm start" uses that.\n',
  );
  process.exit(1);
}
