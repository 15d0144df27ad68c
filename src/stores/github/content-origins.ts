/** Where the URLs lead that the host of a repository gives of its files, and of those that Git LFS has. */
export function repositoryOrigins(apiUrl: string): readonly string[] {
  const { protocol, host, origin } = new URL(apiUrl);
  if (host === 'api.github.com') return GITHUB;
  // An Enterprise server gives files under its own name, or under names below it ("Enabling subdomain isolation" in
  // its documentation), which an address in numbers has not.
  const web = host.replace(/^api\./, '');
  const others = [web, `raw.${web}`, `media.${web}`].map((name) => `${protocol}//${name}`);
  return [...new Set([origin, ...others.filter((url) => URL.canParse(url))])];
}

/** Of GitHub itself: the first is where `download_url` leads, the others where files of Git LFS are. */
const GITHUB = [
  'https://raw.githubusercontent.com',
  'https://media.githubusercontent.com',
  'https://objects.githubusercontent.com',
  'https://github-cloud.githubusercontent.com',
  'https://github-cloud.s3.amazonaws.com',
];
