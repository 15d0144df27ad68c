/// <reference types="vite/client" />

import type { Theme } from 'vitepress';
import DefaultTheme from 'vitepress/theme-without-fonts';
import { h } from 'vue';
import picture from '../../screenshots/grid.png';
import '../../../web/src/styles/tokens.css';
import './holdall.css';

/** VitePress's default theme in Holdall's colours, with a picture of the web UI on the home page. */
export default {
  extends: DefaultTheme,
  Layout: () =>
    h(DefaultTheme.Layout, null, {
      'home-hero-after': () =>
        h('img', {
          class: 'home-picture',
          src: picture,
          alt: 'The web UI: a folder of photos, shown as a grid of thumbnails',
          width: 1440,
          height: 900,
        }),
    }),
} satisfies Theme;
