import { Enums, Models, Serialize, SPDX, Spec } from '@cyclonedx/cyclonedx-library';
import { dependencyNames, findPackage, packageName } from './lockfile.js';

/**
 * Returns the software bill of materials of the published package as CycloneDX JSON: the packages that npm installs with
 * it, and those that are bundled into its files. The same lockfile gives the same bytes: it has no date and no serial
 * number.
 *
 * @param {object} shipped
 * @param {{ name: string, version: string, description: string, license: string, homepage: string, repository: { url: string } }} shipped.manifest
 * @param {Readonly<Record<string, import('./lockfile.js').LockedPackage>>} shipped.packages the lockfile
 * @param {ReadonlySet<string>} shipped.installed paths in the lockfile
 * @param {ReadonlySet<string>} shipped.bundled paths in the lockfile
 * @returns {string}
 */
export function createSbom({ manifest, packages, installed, bundled }) {
  const bom = new Models.Bom();
  const holdall = describeHoldall(manifest);
  bom.metadata.component = holdall;
  const paths = [...new Set([...installed, ...bundled])].toSorted();
  const components = new Map(
    paths.map((path) => [path, describePackage(path, packages[path], { isBundled: bundled.has(path) })]),
  );
  for (const [path, component] of components) {
    bom.components.add(component);
    holdall.dependencies.add(component.bomRef);
    for (const name of dependencyNames(packages[path])) {
      const needed = components.get(findPackage(packages, path, name) ?? '');
      if (needed) component.dependencies.add(needed.bomRef);
    }
  }
  const serializer = new Serialize.JsonSerializer(new Serialize.JSON.Normalize.Factory(Spec.Spec1dot6));
  return `${serializer.serialize(bom, { sortLists: true, space: 2 })}\n`;
}

/** @param {{ name: string, version: string, description: string, license: string, homepage: string, repository: { url: string } }} manifest */
function describeHoldall({ name, version, description, license, homepage, repository }) {
  const { ExternalReference } = Models;
  return new Models.Component(Enums.ComponentType.Application, name, {
    version,
    description,
    purl: purlOf(name, version),
    bomRef: purlOf(name, version),
    licenses: licenseOf(license),
    externalReferences: new Models.ExternalReferenceRepository([
      new ExternalReference(homepage, Enums.ExternalReferenceType.Website),
      new ExternalReference(repository.url, Enums.ExternalReferenceType.VCS),
    ]),
  });
}

/**
 * @param {string} path
 * @param {import('./lockfile.js').LockedPackage | undefined} entry
 * @param {{ isBundled: boolean }} options
 */
function describePackage(path, entry, { isBundled }) {
  if (entry === undefined) throw new Error(`The lockfile has no ${path}.`);
  const [group, name] = packageName(path).startsWith('@')
    ? packageName(path).split('/')
    : [undefined, packageName(path)];
  const purl = purlOf(packageName(path), entry.version);
  return new Models.Component(Enums.ComponentType.Library, name ?? '', {
    ...(group === undefined ? {} : { group }),
    version: entry.version,
    purl,
    bomRef: purl,
    scope: entry.optional ? Enums.ComponentScope.Optional : Enums.ComponentScope.Required,
    hashes: hashesOf(entry.integrity),
    licenses: licenseOf(entry.license),
    // The taxonomy of CycloneDX for npm: https://github.com/CycloneDX/cyclonedx-property-taxonomy
    properties: new Models.PropertyRepository(
      isBundled ? [new Models.Property('cdx:npm:package:bundled', 'true')] : [],
    ),
  });
}

/**
 * Returns a package URL (https://github.com/package-url/purl-spec).
 *
 * @param {string} name
 * @param {string} version
 */
function purlOf(name, version) {
  return `pkg:npm/${name.replace('@', '%40')}@${encodeURIComponent(version)}`;
}

/** @param {string | undefined} license as package.json has it: an SPDX ID or expression */
function licenseOf(license) {
  const { LicenseExpression, LicenseRepository, NamedLicense, SpdxLicense } = Models;
  if (license === undefined) return new LicenseRepository();
  if (SPDX.isSupportedSpdxId(license)) return new LicenseRepository([new SpdxLicense(license)]);
  const isExpression = /\b(?:AND|OR|WITH)\b/.test(license);
  return new LicenseRepository([isExpression ? new LicenseExpression(license) : new NamedLicense(license)]);
}

/** @param {string | undefined} integrity as in the lockfile: `sha512-` and base64 */
function hashesOf(integrity) {
  const [, base64] = /^sha512-(\S+)/.exec(integrity ?? '') ?? [];
  return new Models.HashDictionary(
    base64 === undefined ? [] : [[Enums.HashAlgorithm['SHA-512'], Buffer.from(base64, 'base64').toString('hex')]],
  );
}
