import { makeLinksAbsolute } from '../links/absolute.ts';

/** What a release must agree on. */
export interface Release {
  /** The tag that was pushed. */
  readonly tag: string;
  /** The repository that the release runs in, as OWNER/NAME. */
  readonly runningIn: string | undefined;
  /** The contents of package.json. */
  readonly manifest: { readonly version: string; readonly repository: { readonly url: string } };
  readonly changelog: string;
  readonly dockerfile: string;
}

/**
 * Returns the section of the changelog for a release, with links to the files of its tag. Throws if the tag, the version, the
 * changelog, the container image or the repository don't match.
 */
export function releaseNotes({ tag, runningIn, manifest, changelog, dockerfile }: Release): string {
  const { version, repository } = manifest;
  if (tag !== `v${version}`) throw new Error(`The tag is ${tag}, and the version in package.json ${version}.`);
  if (!dockerfile.includes(`org.opencontainers.image.version="${version}"`)) {
    throw new Error(`The label org.opencontainers.image.version in the Dockerfile is not ${version}.`);
  }
  const address = repository.url.replace(/^git\+|\.git$/g, '');
  if (runningIn !== undefined && !address.endsWith(`/${runningIn}`)) {
    throw new Error(`The repository in package.json is ${address}, and the release runs in ${runningIn}.`);
  }
  const heading = new RegExp(String.raw`^## ${RegExp.escape(version)} - \d{4}-\d{2}-\d{2}\n`, 'm');
  const [, section] = changelog.split(heading);
  if (section === undefined) throw new Error(`CHANGELOG.md has no heading "## ${version} - YYYY-MM-DD".`);
  const notes = section.split(/^## /m, 1)[0]?.trim() ?? '';
  if (notes === '') throw new Error(`CHANGELOG.md lists no changes for ${version}.`);
  return `${makeLinksAbsolute(notes, address, tag)}\n`;
}
