import { slug } from 'github-slugger';
import { defineConfig, type PageData } from 'vitepress';
import { longCodePlugin } from './code.ts';
import { linkPlugin } from './links.ts';
import { writeLlmsTxt } from './llms.ts';
import { INDEX, readNavigation, sidebar, sitePath } from './navigation.ts';
import { description, logo, readFeatures, repository, version } from './project.ts';

/** The docs site: `npm run docs` serves it, and `npm run docs:build` (scripts/build-docs.js) writes it to `site`. */
export default defineConfig({
  title: 'Holdall',
  description,
  lang: 'en',
  // The site works below any path.
  base: './',
  cacheDir: '../node_modules/.cache/vitepress',
  rewrites: sitePath,
  head: [['link', { rel: 'icon', type: 'image/svg+xml', href: logo }]],
  markdown: {
    // The same anchors and the same syntax as on GitHub.
    anchor: { slugify: slug },
    attrs: false,
    component: false,
    emoji: false,
    toc: false,
    config(markdown) {
      linkPlugin(markdown, repository);
      longCodePlugin(markdown);
    },
  },
  themeConfig: {
    logo,
    nav: [
      ...readNavigation().map(({ title, pages, groups }) => {
        const first = pages[0] ?? groups[0]?.pages[0];
        return { text: title, link: `/${first?.path.replace(/\.md$/, '') ?? ''}` };
      }),
      { text: `Version ${version}`, link: `${repository}/blob/main/CHANGELOG.md` },
      { text: 'Source code', link: repository },
    ],
    sidebar: sidebar(),
    outline: [2, 3],
    search: { provider: 'local', options: { detailedView: true } },
    editLink: { pattern: `${repository}/edit/main/docs/:path`, text: 'Edit this page' },
    notFound: {
      title: 'Page not found',
      quote: 'The page may have moved. Search for it, or start from the home page.',
      linkText: 'Home page',
      linkLabel: 'Home page',
    },
    footer: { message: `<a href="${repository}/blob/main/LICENSE">MIT licence</a>` },
  },
  transformPageData: (page) => (page.filePath === INDEX ? homePage(page) : undefined),
  buildEnd: ({ outDir }) => writeLlmsTxt(outDir),
  vite: {
    publicDir: false,
    build: { target: ['chrome123', 'firefox121', 'safari17.5'], license: { fileName: 'licenses.md' } },
  },
});

/** Makes the home page of the list of pages. GitHub shows the list alone. */
function homePage({ frontmatter }: PageData): Partial<PageData> {
  return {
    frontmatter: {
      ...frontmatter,
      layout: 'home',
      hero: {
        name: 'Holdall',
        text: description.replace(/\.$/, ''),
        actions: [
          { text: 'Get started', link: '/tutorials/first-run' },
          { text: 'HTTP API', link: '/reference/http-api', theme: 'alt' },
        ],
      },
      features: readFeatures(),
    },
  };
}
