import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { Spec, Validation } from '@cyclonedx/cyclonedx-library';
import { parsePage } from '../../scripts/links/markdown.ts';
import type { Need } from '../runner/needs.ts';
import { PACKAGE, type Provenance, provenanceOf, ROOT } from './provenance.ts';

export const needs: readonly Need[] = ['package'];

const run = promisify(execFile);

/** The Node.js of the tests takes precedence over that of the machine. */
const env = { ...process.env, PATH: `${dirname(process.execPath)}${delimiter}${process.env['PATH']}` };

describe('The package', () => {
  let provenance: Provenance;
  before(async () => {
    provenance = await provenanceOf(PACKAGE);
  });

  it('packs the files of its list, with their checksums, and no other', async () => {
    const { stdout } = await run('npm', ['pack', '--dry-run', '--json', PACKAGE], { env });
    const [{ files }] = JSON.parse(stdout) as [{ files: { path: string }[] }];
    const listed = provenance.files.map(({ path }) => path);
    assert.deepEqual(files.map(({ path }) => path).toSorted(), [...listed, 'provenance.json'].toSorted());
    for (const { path, sha256 } of provenance.files) {
      const bytes = await readFile(join(PACKAGE, path));
      assert.equal(createHash('sha256').update(bytes).digest('hex'), sha256, path);
    }
  });

  it('says of every file and of every package in it where it comes from', async () => {
    const { packages } = JSON.parse(await readFile(join(ROOT, 'package-lock.json'), 'utf8')) as {
      packages: Record<string, { integrity?: string }>;
    };
    const known = new Set(Object.values(packages).flatMap(({ integrity }) => integrity ?? []));
    for (const { path, from } of provenance.files) {
      if (path === 'sbom.cdx.json') assert.equal(from, 'package-lock.json');
      else if (from === path) assert.ok(path === 'package.json' || (await readFile(join(ROOT, path))));
      else assert.match(`${path} of ${from}`, /^(dist\/\S+ of src|web\/dist\/\S+ of web)$/);
    }
    const { src, web } = provenance.bundled;
    for (const { package: name, integrity } of [...src, ...web]) assert.ok(known.has(integrity), name);
    // One dependency of the service, one of the page, and one of the page's worker.
    for (const name of ['fastify', 'preact', 'highlight.js'])
      assert.ok(
        [...src, ...web].some((each) => each.package.startsWith(`${name}@`)),
        name,
      );
    assert.match(String(provenance.source['package-lock.json']), /^[\da-f]{64}$/);
  });

  it('has a valid bill of materials with the packages that it installs or contains', async () => {
    const text = await readFile(join(PACKAGE, 'sbom.cdx.json'), 'utf8');
    assert.equal(await new Validation.JsonStrictValidator(Spec.Version.v1dot6).validate(text), null);
    const { components, metadata } = JSON.parse(text) as {
      components: Component[];
      metadata: { component: Component };
    };
    assert.equal(metadata.component.purl, `pkg:npm/${provenance.package}`);
    const purls = components.map(({ purl }) => purl);
    assert.equal(new Set(purls).size, purls.length);
    const { dependencies, optionalDependencies } = JSON.parse(
      await readFile(join(PACKAGE, 'package.json'), 'utf8'),
    ) as Record<'dependencies' | 'optionalDependencies', Record<string, string>>;
    const { src, web } = provenance.bundled;
    const contained = [...src, ...web].map((each) => each.package);
    const installed = Object.entries({ ...dependencies, ...optionalDependencies }).map(
      ([name, version]) => `${name}@${version}`,
    );
    for (const name of [...contained, ...installed]) {
      const found = components.find(({ purl }) => decodeURIComponent(purl) === `pkg:npm/${name}`);
      assert.ok(found, name);
      assert.equal(isBundled(found), contained.includes(name), name);
    }
    assert.equal(components.filter(isBundled).length, new Set(contained).size);
    for (const { purl, licenses, hashes } of components) {
      assert.ok(licenses?.length === 1, purl);
      assert.ok(hashes?.length === 1, purl);
    }
  });

  it('has a README whose links and pictures work outside of the repository', async () => {
    const readme = await readFile(join(PACKAGE, 'README.md'), 'utf8');
    const urls = parsePage(readme).references.map(({ url }) => url);
    assert.ok(urls.length > 10);
    for (const url of urls) assert.match(url, /^(https?:|#)/);
  });

  it('has nothing of its development in it, and nothing of the machine that built it', async () => {
    for (const { path } of provenance.files) {
      assert.doesNotMatch(path, /\.(map|tsx?|test\.\w+|log|env)$|node_modules|(^|\/)(src|tests|bench|scripts)\//);
      const bytes = await readFile(join(PACKAGE, path));
      assert.ok(!bytes.includes(ROOT), `${path} has ${ROOT}`);
      assert.ok(!bytes.includes('sourceMappingURL=data'), path);
    }
  });
});

/** A component of the bill of materials. */
interface Component {
  readonly purl: string;
  readonly hashes?: readonly unknown[];
  readonly licenses?: readonly unknown[];
  readonly properties?: readonly { name: string; value: string }[];
}

function isBundled({ properties = [] }: Component): boolean {
  return properties.some(({ name, value }) => name === 'cdx:npm:package:bundled' && value === 'true');
}
