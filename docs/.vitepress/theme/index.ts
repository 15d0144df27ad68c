/// <reference types="vite/client" />

import type { Theme } from 'vitepress';
import DefaultTheme from 'vitepress/theme-without-fonts';
import { h } from 'vue';
import light from '../../screenshots/grid.webp';
import dark from '../../screenshots/grid-dark.webp';
import '../../../web/src/ui/styles/tokens.css';
import './holdall.css';

/** VitePress's default theme in Holdall's colours, with a picture of the web UI on the home page. */
export default {
  extends: DefaultTheme,
  Layout: () =>
    h(DefaultTheme.Layout, null, {
      'home-hero-after': () => [picture('light', light), picture('dark', dark)],
    }),
} satisfies Theme;

/** The picture for one of the two themes. The style sheet hides the other one. */
function picture(theme: 'light' | 'dark', src: string) {
  const alt = 'The web UI: a folder of photos, shown as a grid of thumbnails';
  return h('img', { class: `home-picture in-${theme}`, src, alt, width: 1280, height: 720 });
}
