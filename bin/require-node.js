/** The minimum major version of Node.js: older ones can't run TypeScript. The same as `engines` in package.json. */
const MIN_NODE_MAJOR = 24;

/** Exits with a one-line error if Node.js is too old. The syntax of this file must work in old versions too. */
export function requireNode() {
  const major = Number(process.versions.node.split('.')[0]);
  if (major >= MIN_NODE_MAJOR) return;
  process.stderr.write(
    `holdall: Node.js ${process.versions.node} is too old. Install Node.js ${MIN_NODE_MAJOR} or later. In a checkout, ` +
      'run "npm ci", which installs a suitable version, and then "npm start".\n',
  );
  process.exit(1);
}
