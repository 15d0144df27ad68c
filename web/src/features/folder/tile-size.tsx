import { TILE_SIZE_NAMES, TILE_SIZES } from '../../platform/preferences.ts';
import { useLanguage } from '../../platform/text/language.ts';
import { focusRegion } from '../../ui/focus.ts';
import { usePreferences } from '../models.ts';
import './tile-size.css';

/** The slider for the size of tiles and photos. */
export function TileSize() {
  const { tileSize } = usePreferences();
  const { text } = useLanguage();
  return (
    <input
      class="tile-size"
      type="range"
      min={0}
      max={TILE_SIZES.length - 1}
      step={1}
      value={tileSize.value}
      title={text.view.tileSize}
      aria-label={text.view.tileSize}
      aria-valuetext={text.view.tileSizes[TILE_SIZE_NAMES[tileSize.value] ?? 'medium']}
      onInput={({ currentTarget }) => {
        tileSize.value = currentTarget.valueAsNumber;
      }}
      // The next keys are for the list, such as Ctrl+A. Users who move the slider with the keyboard stay there.
      onPointerUp={() => focusRegion('list')}
    />
  );
}
