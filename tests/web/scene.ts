import sharp, { type Sharp } from 'sharp';

/** Draws hills below a sky with a sun. Each `seed` draws another landscape. `moment`, from 0 to 1, moves the sun. */
export function drawScene(seed: number, width: number, height: number, moment = 0.4): Sharp {
  const hue = (seed * 67 + 15) % 360;
  const colour = (shift: number, saturation: number, lightness: number) =>
    `hsl(${(hue + shift) % 360} ${saturation}% ${lightness}%)`;
  const hills = [0, 1, 2, 3].map((layer) => {
    const fill = colour(150 + layer * 12, 35 + layer * 5, 52 - layer * 12);
    return `<path d="${ridge(seed * 7 + layer, 48 + layer * 13)}" fill="${fill}"/>`;
  });
  return sharp(
    Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}"
      viewBox="0 0 100 100" preserveAspectRatio="none">
      <linearGradient id="sky" x2="0" y2="1"><stop stop-color="${colour(0, 65, 45)}"/>
      <stop offset="0.7" stop-color="${colour(35, 85, 82)}"/></linearGradient>
      <rect width="100" height="100" fill="url(#sky)"/>
      <ellipse cx="${10 + 80 * moment}" cy="${26 + ((seed * 5) % 18)}" rx="${(700 / width) * Math.min(1, width / height)}"
        ry="${(700 / height) * Math.min(1, width / height)}" fill="${colour(45, 95, 92)}"/>
      ${hills.join('')}
    </svg>`),
  ).removeAlpha();
}

/** Returns the outline of a chain of hills, from `top` (0 to 100) to the lower edge. */
function ridge(seed: number, top: number): string {
  const points = Array.from({ length: 51 }, (_, index) => {
    const x = index * 2;
    const y = top + 7 * Math.sin(x / 9 + seed) + 3 * Math.sin(x / 3.7 + seed * 2.3) + Math.sin(x / 1.3 + seed);
    return `${x},${y.toFixed(2)}`;
  });
  return `M0,100 L${points.join(' ')} L100,100 Z`;
}
