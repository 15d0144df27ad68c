import type { ComponentType } from 'preact';
import { useEffect, useReducer } from 'preact/hooks';
import { type OpenMenu, useMenus } from './menus.tsx';
import { whenPicturesLoaded } from './when-idle.ts';

let Menu: ComponentType<{ menu: OpenMenu }> | undefined;

async function loadMenu(): Promise<void> {
  Menu ??= (await import('./menu.tsx')).Menu;
}

/**
 * Renders the open menu. Its code loads when the browser is idle, or when the first menu opens.
 */
export function MenuHost() {
  const menus = useMenus();
  const menu = menus.shown.value;
  const isRendered = menu !== null && Menu !== undefined;
  const [, render] = useReducer<number, void>((count) => count + 1, 0);

  useEffect(() => whenPicturesLoaded(() => void loadMenu().catch(() => {})), []);
  useEffect(() => {
    // The code can have arrived since the render.
    if (!menu || isRendered) return;
    loadMenu().then(render, () => {
      menus.close();
      menus.onNotLoaded();
    });
  }, [menu]);
  return menu && Menu ? <Menu menu={menu} /> : null;
}
