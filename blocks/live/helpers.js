// Functions of which a program carries those that it uses.
function pow(a, b) {
  // C's pow, unlike JavaScript's, is 1 for base 1, and for base -1 and infinite b.
  return a === 1 || (a === -1 && Math.abs(b) === Infinity) ? 1 : Math.pow(a, b);
}
function round(x) {
  // To the nearest, halves to the even.
  const below = Math.floor(x), part = x - below;
  const up = part > 0.5 || (part === 0.5 && below % 2 !== 0);
  return up ? below + 1 || x * 0 : part > 0 ? below || x * 0 : x;
}
function roundAway(x) {
  return Math.sign(x) * Math.floor(Math.abs(x) + 0.5);
}
function toInt(x) {
  return x !== x ? 0 : Math.min(2147483647, Math.max(-2147483648, Math.trunc(x)));
}
function toUint(x) {
  return x !== x ? 0 : Math.min(4294967295, Math.max(0, Math.trunc(x)));
}
function erfc(x) {
  // A series near zero, a continued fraction far from it.
  const z = Math.abs(x);
  let s;
  if (z < 2.5) {
    let term = z, k = 0;
    s = z;
    while (Math.abs(term) > 1e-17 * s) { k++; term *= -z * z / k; s += term / (2 * k + 1); }
    s = 1 - s * 2 / Math.sqrt(Math.PI);
  } else {
    let f = 0;
    for (let k = 60; k > 0; k--) f = k / 2 / (z + f);
    s = Math.exp(-z * z) / Math.sqrt(Math.PI) / (z + f);
  }
  return x < 0 ? 2 - s : s;
}
function erf(x) {
  if (Math.abs(x) > 0.5 || x !== x) return 1 - erfc(x);
  let term = x, k = 0, s = x;
  while (Math.abs(term) > 1e-17 * Math.abs(s)) { k++; term *= -x * x / k; s += term / (2 * k + 1); }
  return s * 2 / Math.sqrt(Math.PI);
}
function divideInt(a, b) {
  return b === 0 ? -1 : Math.trunc(a / b) | 0;
}
function divideUint(a, b) {
  return b === 0 ? 4294967295 : Math.trunc(a / b);
}
function remainder(a, b) {
  return b === 0 ? a : a % b;
}
function shiftRight(a, b) {
  return b >>> 0 > 31 ? (a < 0 ? -1 : 0) : a >> b;
}
