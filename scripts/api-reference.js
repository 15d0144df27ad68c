import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { constants, gzip } from 'node:zlib';
import apiReference from '@scalar/fastify-api-reference';
import fastify from 'fastify';

const PACKAGE = '@scalar/fastify-api-reference';

/**
 * Returns Scalar's script for browsers, which shows an OpenAPI document, compressed with gzip. Only this file is
 * shipped: the package contains it as a string, and has dependencies that Holdall does not need.
 */
export async function readApiReference() {
  const app = fastify();
  await app.register(apiReference, { routePrefix: '/docs', configuration: { content: {} } });
  const { statusCode, body } = await app.inject('/docs/js/scalar.js');
  await app.close();
  if (statusCode !== 200 || !body.includes('createApiReference'))
    throw new Error(`${PACKAGE} does not serve its script at js/scalar.js.`);
  // The source map is not shipped.
  const script = body.replace(/\n\/\/# sourceMappingURL=.*\s*$/, '\n');
  return promisify(gzip)(script, { level: constants.Z_BEST_COMPRESSION });
}

/** Returns the licence of the script, as a section of `licenses.md`. */
export async function describeApiReferenceLicense() {
  const read = (/** @type {string} */ name) =>
    readFile(new URL(name, new URL('../', import.meta.resolve(PACKAGE))), 'utf8');
  const { version, license } = JSON.parse(await read('package.json'));
  return `\n## ${PACKAGE} - ${version} (${license})\n\n${await read('LICENSE')}`;
}
